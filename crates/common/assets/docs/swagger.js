// Loads no configuration from elsewhere and asks no validator: nothing leaves this origin.
SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#swagger-ui",
  layout: "BaseLayout",
  deepLinking: true,
  persistAuthorization: false,
  validatorUrl: null,
});
